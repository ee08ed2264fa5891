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

// func relu8(out, in *float32, count int)
// The number is the second source, which VMAXPS returns where one of both is not a number.
TEXT ·relu8(SB), NOSPLIT, $0-24
	MOVQ   out+0(FP), DI
	MOVQ   in+8(FP), SI
	MOVQ   count+16(FP), CX
	VXORPS Y0, Y0, Y0

loop:
	VMAXPS  0(SI), Y0, Y1
	VMOVUPS Y1, 0(DI)
	ADDQ    $32, SI
	ADDQ    $32, DI
	SUBQ    $8, CX
	JNZ     loop
	VZEROUPPER
	RET

// func sum8(out, a, b *float32, count int)
TEXT ·sum8(SB), NOSPLIT, $0-32
	MOVQ out+0(FP), DI
	MOVQ a+8(FP), SI
	MOVQ b+16(FP), DX
	MOVQ count+24(FP), CX

loop:
	VMOVUPS 0(SI), Y0
	VADDPS  0(DX), Y0, Y0
	VMOVUPS Y0, 0(DI)
	ADDQ    $32, SI
	ADDQ    $32, DX
	ADDQ    $32, DI
	SUBQ    $8, CX
	JNZ     loop
	VZEROUPPER
	RET

// func sumRows32(sums, rows *float32, stride, height int)
TEXT ·sumRows32(SB), NOSPLIT, $0-32
	MOVQ    sums+0(FP), DI
	MOVQ    rows+8(FP), SI
	MOVQ    stride+16(FP), R8
	MOVQ    height+24(FP), CX
	VMOVUPS 0(DI), Y0
	VMOVUPS 32(DI), Y1
	VMOVUPS 64(DI), Y2
	VMOVUPS 96(DI), Y3

loop:
	VADDPS 0(SI), Y0, Y0
	VADDPS 32(SI), Y1, Y1
	VADDPS 64(SI), Y2, Y2
	VADDPS 96(SI), Y3, Y3
	ADDQ   R8, SI
	DECQ   CX
	JNZ    loop

	VMOVUPS Y0, 0(DI)
	VMOVUPS Y1, 32(DI)
	VMOVUPS Y2, 64(DI)
	VMOVUPS Y3, 96(DI)
	VZEROUPPER
	RET

// func maxRows32(most, rows *float32, stride, height int)
TEXT ·maxRows32(SB), NOSPLIT, $0-32
	MOVQ    most+0(FP), DI
	MOVQ    rows+8(FP), SI
	MOVQ    stride+16(FP), R8
	MOVQ    height+24(FP), CX
	VMOVUPS 0(DI), Y0
	VMOVUPS 32(DI), Y1
	VMOVUPS 64(DI), Y2
	VMOVUPS 96(DI), Y3

loop:
	VMAXPS 0(SI), Y0, Y0
	VMAXPS 32(SI), Y1, Y1
	VMAXPS 64(SI), Y2, Y2
	VMAXPS 96(SI), Y3, Y3
	ADDQ   R8, SI
	DECQ   CX
	JNZ    loop

	VMOVUPS Y0, 0(DI)
	VMOVUPS Y1, 32(DI)
	VMOVUPS Y2, 64(DI)
	VMOVUPS Y3, 96(DI)
	VZEROUPPER
	RET
