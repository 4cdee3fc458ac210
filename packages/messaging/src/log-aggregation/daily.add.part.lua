-- Expects: country, region, city (keys). Adds a segment: for each member the dimension (1 byte), lines (4), length (2), member.
local function add(segment)
  local counts = { country, region, city }
  local position = 1
  while position <= #segment do
    local dimension, lines, member
    dimension, lines, member, position = struct.unpack('>BI4Hc0', segment, position)
    redis.call('ZINCRBY', counts[dimension], lines, member)
  end
end
