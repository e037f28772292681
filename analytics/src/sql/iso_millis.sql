-- Which instant is this text, in milliseconds since 1970, if it is an ISO 8601 date or date-time?
-- The days are Hinnant's days_from_civil (howardhinnant.github.io/date_algorithms.html). Part of other statements.
arrayElement(arrayMap(
    found -> arrayElement(arrayMap(
        (year, month, day) -> if(
            empty(found) OR month NOT BETWEEN 1 AND 12 OR day < 1
                OR day > [31, if(year % 4 = 0 AND (year % 100 != 0 OR year % 400 = 0), 29, 28), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month]
                OR toInt64OrZero(found[4]) > 23 OR toInt64OrZero(found[5]) > 59 OR toInt64OrZero(found[6]) > 60
                OR toInt64OrZero(found[9]) > 23 OR toInt64OrZero(found[10]) > 59,
            CAST(NULL, 'Nullable(Int64)'),
            (365 * (year - (month < 3))
                + intDiv(year - (month < 3) + 400, 4) - intDiv(year - (month < 3) + 400, 100)
                + intDiv(year - (month < 3) + 400, 400) - 97
                + intDiv(153 * ((month + 9) % 12) + 2, 5) + day - 1 - 719468) * 86400000
            + toInt64OrZero(found[4]) * 3600000 + toInt64OrZero(found[5]) * 60000 + toInt64OrZero(found[6]) * 1000
            + intDiv(toInt64OrZero(rightPad(found[7], 9, '0')), 1000000)
            - if(found[8] = '-', -1, 1) * (toInt64OrZero(found[9]) * 60 + toInt64OrZero(found[10])) * 60000),
        [toInt64OrZero(found[1])], [toInt64OrZero(found[2])], [toInt64OrZero(found[3])]), 1),
    [extractGroups($text$, '^([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[Tt ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]{1,9}))?)?(?:[Zz]|([+-])([0-9]{2})(?::?([0-9]{2}))?)?)?\\z')]), 1)
