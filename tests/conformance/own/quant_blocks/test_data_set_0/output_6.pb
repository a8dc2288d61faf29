B
matmul14_0Jx@ÜÀi&%C¿‡ìBoÚ»B€‡è?æªB«‘‘Â`‰ÄÂÂ>	Ã’jÂÏåÑÂ<¯A­QzBqˆBœÏŒB¯X2BŽåAhìBÁš*/@óO9Au¢ŠÂ84¸ÁÀqï@…NBŠˆ
Bn÷A~B*B‰‡[B$TA