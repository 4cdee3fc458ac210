-- Expects what semaphore.change.part.lua declares.
-- Whether a stamp (token or place) proves that the state which it was given by was lost. Then there may be holders that
-- nobody knows: nothing is granted until as many permits as there are were heard of (weight: how many are, with this), or
-- until the leases of their holders, taken to be as long as this one, must be over.
local function isWitness(stamp, leaseMs, weight)
  if stamp == 0 or not (isFresh or stamp < began) then return false end
  -- One that can't have been given would be the floor of all further tokens. The clock may have been set back a day.
  if stamp < 1000000000000000 or stamp - clock() > 86400000000 then return false end
  local till = began + leaseMs * 1000
  if till <= now then return false end
  token, heard, isChanged = math.max(token, stamp), heard + weight, true
  lostUntil = (limit == 0 or heard < limit) and math.max(lostUntil, till) or 0
  return true
end
