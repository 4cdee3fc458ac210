-- Whether a token or a place proves that an earlier state was lost. Then there may be holders unknown to this state.
-- Nothing is granted until they have reported as many permits as the limit; this call reports `weight` of them. At the
-- latest, grants go on when the leases of those holders must have ended, if they were as long as this one. Expects the
-- locals of semaphore.change.part.lua.
local function provesLoss(instant, leaseMs, weight)
  if instant == 0 or not (isFresh or instant < began) then return false end
  -- All later tokens are greater, so an impossible one is refused. The clock may have been set back by a day.
  if instant < 1000000000000000 or instant - clock() > 86400000000 then return false end
  local till = began + leaseMs * 1000
  if till <= now then return false end
  token, reported, isChanged = math.max(token, instant), reported + weight, true
  lostUntil = (limit == 0 or reported < limit) and math.max(lostUntil, till) or 0
  return true
end
