B
softmax3_0JR=dÅ>ÅÂ>ÅÂ>R=