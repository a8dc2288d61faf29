Baveragepool8_0JŠ‰e¾ Qd¿˜(¦=³éQ½zzø¾â¯
=