module longshore.dev/apps

go 1.26.0
