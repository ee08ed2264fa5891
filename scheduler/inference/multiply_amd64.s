#include "textflag.h"

// func addRows32(sum, matrix *float32, stride int, values *float32, height int)
// Y0 to Y3 hold the 32 sums while the values go by; stride is in bytes.
TEXT ·addRows32(SB), NOSPLIT, $0-40
	MOVQ    sum+0(FP), DI
	MOVQ    matrix+8(FP), SI
	MOVQ    stride+16(FP), R8
	MOVQ    values+24(FP), DX
	MOVQ    height+32(FP), CX
	VMOVUPS 0(DI), Y0
	VMOVUPS 32(DI), Y1
	VMOVUPS 64(DI), Y2
	VMOVUPS 96(DI), Y3
	TESTQ   CX, CX
	JZ      done

loop:
	VBROADCASTSS (DX), Y4
	VFMADD231PS  0(SI), Y4, Y0
	VFMADD231PS  32(SI), Y4, Y1
	VFMADD231PS  64(SI), Y4, Y2
	VFMADD231PS  96(SI), Y4, Y3
	ADDQ         R8, SI
	ADDQ         $4, DX
	DECQ         CX
	JNZ          loop

done:
	VMOVUPS Y0, 0(DI)
	VMOVUPS Y1, 32(DI)
	VMOVUPS Y2, 64(DI)
	VMOVUPS Y3, 96(DI)
	VZEROUPPER
	RET
