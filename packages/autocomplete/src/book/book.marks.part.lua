-- Marks: a bit for what each member begins with, up to the fifth and up to the sixth byte, in one text. A search with an edit asks for
-- hundreds of places where hardly anything is, and one command tells of many which needn't be looked for. A bit may be set for nothing, as
-- those of members that have gone are until there are new marks. In front are 256 bits for the bytes that the first six are of.
-- Expects: sub, byte, marks.

-- Bytes that have marks.
local LENGTHS = { 5, 6 }
local ALPHABET = 256

local function numberOf(a, b, c, d, e, f)
  local number = (((a * 131 + b) * 131 + c) * 131 + d) * 131 + e
  return f and number * 131 + f or number
end

-- As a string, of a number and how many bits there are behind the alphabet.
local function bitOf(number, bits)
  return string.format('%d', ALPHABET + number % bits)
end
