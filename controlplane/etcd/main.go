// Command etcd is upstream's etcd server, of the version that go.mod pins. It has a module of its own because its
// dependencies must not move those of Kubernetes.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	etcdmain.Main(os.Args)
}
