#include "textflag.h"

// func multiplyRows32(out, start, in, matrix *float32, outStride, startStride, inStride, matrixStride, height, rows int)
// Two rows at a time: Y0 to Y3 and Y4 to Y7 hold their sums while their values and the matrix' rows go by.
TEXT ·multiplyRows32(SB), NOSPLIT, $0-80
	MOVQ out+0(FP), DI
	MOVQ start+8(FP), SI
	MOVQ in+16(FP), DX
	MOVQ outStride+32(FP), R9
	MOVQ startStride+40(FP), R10
	MOVQ inStride+48(FP), R11
	MOVQ matrixStride+56(FP), R12
	MOVQ rows+72(FP), R13

pair:
	CMPQ R13, $1
	JNE  both

	// A last row that is alone is its own neighbour.
	XORQ R9, R9
	XORQ R10, R10
	XORQ R11, R11

both:
	VMOVUPS 0(SI), Y0
	VMOVUPS 32(SI), Y1
	VMOVUPS 64(SI), Y2
	VMOVUPS 96(SI), Y3
	VMOVUPS 0(SI)(R10*1), Y4
	VMOVUPS 32(SI)(R10*1), Y5
	VMOVUPS 64(SI)(R10*1), Y6
	VMOVUPS 96(SI)(R10*1), Y7
	MOVQ    matrix+24(FP), AX
	MOVQ    DX, BX
	MOVQ    height+64(FP), CX

loop:
	VBROADCASTSS (BX), Y12
	VBROADCASTSS (BX)(R11*1), Y13
	VMOVUPS      0(AX), Y8
	VMOVUPS      32(AX), Y9
	VMOVUPS      64(AX), Y10
	VMOVUPS      96(AX), Y11
	VFMADD231PS  Y8, Y12, Y0
	VFMADD231PS  Y8, Y13, Y4
	VFMADD231PS  Y9, Y12, Y1
	VFMADD231PS  Y9, Y13, Y5
	VFMADD231PS  Y10, Y12, Y2
	VFMADD231PS  Y10, Y13, Y6
	VFMADD231PS  Y11, Y12, Y3
	VFMADD231PS  Y11, Y13, Y7
	ADDQ         R12, AX
	ADDQ         $4, BX
	DECQ         CX
	JNZ          loop

	VMOVUPS Y0, 0(DI)
	VMOVUPS Y1, 32(DI)
	VMOVUPS Y2, 64(DI)
	VMOVUPS Y3, 96(DI)
	VMOVUPS Y4, 0(DI)(R9*1)
	VMOVUPS Y5, 32(DI)(R9*1)
	VMOVUPS Y6, 64(DI)(R9*1)
	VMOVUPS Y7, 96(DI)(R9*1)
	LEAQ    (DI)(R9*2), DI
	LEAQ    (SI)(R10*2), SI
	LEAQ    (DX)(R11*2), DX
	SUBQ    $2, R13
	JG      pair
	VZEROUPPER
	RET

// func sumReluDot8(out, rows, shared, weights *float32, bias float32, width, count int)
TEXT ·sumReluDot8(SB), NOSPLIT, $0-56
	MOVQ   out+0(FP), DI
	MOVQ   rows+8(FP), SI
	MOVQ   width+40(FP), R8
	MOVQ   count+48(FP), CX
	VMOVSS bias+32(FP), X5
	VXORPS Y6, Y6, Y6

row:
	MOVQ   shared+16(FP), DX
	MOVQ   weights+24(FP), BX
	MOVQ   R8, AX
	VXORPS Y0, Y0, Y0

loop:
	VMOVUPS     0(SI), Y1
	VADDPS      0(DX), Y1, Y1
	VMAXPS      Y1, Y6, Y1 // what is not a number stays so, as in relu8
	VFMADD231PS 0(BX), Y1, Y0
	ADDQ        $32, SI
	ADDQ        $32, DX
	ADDQ        $32, BX
	SUBQ        $8, AX
	JNZ         loop

	VEXTRACTF128 $1, Y0, X1
	VADDPS       X1, X0, X0
	VHADDPS      X0, X0, X0
	VHADDPS      X0, X0, X0
	VADDSS       X5, X0, X0
	VMOVSS       X0, 0(DI)
	ADDQ         $4, DI
	DECQ         CX
	JNZ          row
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
