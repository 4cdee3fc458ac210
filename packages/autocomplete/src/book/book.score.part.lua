-- Scores and ranks. A rank is a negated score: the best comes first, and members of one score come in the order of bytes. With a
-- half-life the rank is -round(1000 * (log2(score) + now / half-life + 1100)). As time passes, all scores fall by the same factor and
-- the ranks stay, so nothing is rewritten. A score of 0 has the rank 0. Any other score has a negative rank, because log2 is at least
-- -1074. `score.ts` has the same formulas.
-- Expects: halfLifeMs.
local UNITS, OFFSET = 1000, 1100
local LARGEST = 1.7976931348623157e308
local halfLives = 0
if halfLifeMs > 0 then
  -- include server.time.part.lua
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
