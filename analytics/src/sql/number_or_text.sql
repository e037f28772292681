-- Which number is a property: a JSON number, or a string that spells one?
if(mapContains(numbers, {$field$:String}), numbers[{$field$:String}],
    toFloat64OrNull(if(match($text$, '^[ \\t\\r\\n]*[+-]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]{1,4})?[ \\t\\r\\n]*$'),
        trimBoth($text$, ' \t\r\n'), '')))
