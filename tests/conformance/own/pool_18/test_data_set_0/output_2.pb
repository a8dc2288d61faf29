Baveragepool2_0J(êÂ½ƒž<+H¿`·U¿ÒF$¿ƒ½0ZÄ=
HD>]å„¾4x¾