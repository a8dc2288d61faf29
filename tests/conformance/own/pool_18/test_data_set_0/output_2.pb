Baveragepool2_0J(êÂ½ƒž<+H¿`·U¿†XM¿ƒ½0ZÄ=
HD>]å„¾A–9¾