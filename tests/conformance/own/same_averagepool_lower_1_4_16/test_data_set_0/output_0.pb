Baveragepool0_0J ’K©>‘¡¿æbL?`™­¿dN?2Îñ?
#=¿eÚJ¿