Bnhwcconv2_0JÀºÆ‚?|²æAÁŽ]BÚÒéAß>LB†}Ag lÂMtÂ´$YÂ@ÑÂ¸ì@u;Õ@çvzA4ì1AÜKÁA,ÁAðÛBBN7B>§
Â’ç±BþZBAýÁ·¢Bô<Â³U³AlÚÖ>rL0Á
Ë°À·\’Á\ãüBÎmˆB<ÈA>Ë B­â„BƒiŒBs´Âò¹ÃÀbIÁ”“gAäŽÖÀ íAshéA'‡Á ³ÁHôÁ$Ì‘ÀrBA91Â