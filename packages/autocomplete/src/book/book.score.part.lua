-- Scores and ranks. A rank is a negated score, so that the best comes first and members of one score in the order of bytes.
-- With a half-life the rank is -round(1000 * (log2(score) + now / half-life + 1100)): as time goes by, all scores sink alike and
-- the ranks stay, so nothing has to be rewritten. A score of 0 has the rank 0, and any other one a negative rank: log2 is -1074 or
-- more. `score.ts` does it likewise.
-- Expects: halfLifeMs.
local UNITS, OFFSET = 1000, 1100
local LARGEST = 1.7976931348623157e308
local halfLives = 0
if halfLifeMs > 0 then
  local time = redis.call('TIME')
  halfLives = (time[1] * 1000 + time[2] / 1000) / halfLifeMs
end

local function log2(value)
  return math.log(value) / math.log(2)
end

local function rankOf(score)
  if halfLifeMs == 0 then
    return score == 0 and '0' or string.format('%.17g', -score)
  end
  return score <= 0 and '0' or string.format('%.0f', -UNITS * (log2(score) + halfLives + OFFSET))
end

local function scoreOf(rank)
  if halfLifeMs == 0 then
    return rank == 0 and 0 or -rank
  end
  return rank == 0 and 0 or math.min(LARGEST, 2 ^ (-rank / UNITS - OFFSET - halfLives))
end

local function boost(rank, by)
  return rankOf(math.max(-LARGEST, math.min(LARGEST, scoreOf(rank) + by)))
end
