-- Marks: a Bloom filter for the first five and the first six bytes of each member, in one string. A search with an edit
-- tries hundreds of texts, and no member begins with most of them; one command tests many. A bit may be set without a
-- member, for example for removed members until the next rebuild. The string begins with 256 bits for the byte values among
-- the first six bytes of members. Expects: sub, byte, marks.

-- The lengths of the marked beginnings.
local LENGTHS = { 5, 6 }
local ALPHABET = 256

local function numberOf(a, b, c, d, e, f)
  local number = (((a * 131 + b) * 131 + c) * 131 + d) * 131 + e
  return f and number * 131 + f or number
end

-- The position of a bit, as a string. `bits` is the number of bits after the alphabet.
local function bitOf(number, bits)
  return string.format('%d', ALPHABET + number % bits)
end
