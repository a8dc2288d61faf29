# SPDX-License-Identifier: MIT
"""What the heads of the net write."""
DIGITS = 'zero one two three four five six seven eight nine'.split()
WORDS = DIGITS + '''ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand yes no stop go left
right up down on off open close start back next help'''.split()
LETTERS = " 'abcdefghijklmnopqrstuvwxyz"
