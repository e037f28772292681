-- Which number does a string property spell, NULL where it spells none?
nullIf(nullIf(toFloat64OrNull(if(
    match($text$, '^[ \\t\\r\\n]*[+-]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]{1,3})?[ \\t\\r\\n]*$'),
    trimBoth($text$, ' \t\r\n'),
    '')), inf), -inf)
