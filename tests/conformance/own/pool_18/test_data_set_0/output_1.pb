Baveragepool1_0J0C¶!¾Kjê½hbE¾y
N¾C¡à¾†XÍ¿[yÚ½Ï!‚>UþU?Õ[<¡t%¿A–¹¾