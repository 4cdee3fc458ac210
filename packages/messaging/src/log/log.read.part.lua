-- Reads entries between two ids, from one end, without tombstones.
-- Expects:
--   log              key
--   base             the id before the oldest entry
--   low, high        ids; the entries between them are read
--   isLatest         from the high end
--   limit            entries at most
--   maxScan          entries to scan, at most
--   maxBytes         of entries at most; no entry is returned when the first one is larger
--   usual            the usual bytes of an entry
--   isPlain          there are no tombstones and no limit of bytes: one LRANGE is enough
-- Results: low and high: the entries between them were not scanned; entries, by ascending ids; nextBytes and nextAt, of an
-- entry that was too large, else 0.
local count, scanned, bytes, nextBytes, nextAt = 0, 0, 0, 0, 0
if isPlain then
  local first, final = low + 1, math.min(low + limit, high - 1)
  if isLatest then
    first, final = math.max(high - limit, low + 1), high - 1
  end
  entries = redis.call('LRANGE', log, first - base - 1, final - base - 1)
  if isLatest then
    high = first
  else
    low = final
  end
else
  -- Reads as many entries at a time as fit if they have the usual size: LRANGE copies every entry, also those that don't fit.
  local most = math.max(limit, 100)
  while count < limit and nextBytes == 0 and scanned < maxScan and high - low > 1 do
    -- Tombstones are small: the step grows while only these were found.
    local step = math.min(most, math.max(math.ceil((maxBytes - bytes) / usual), count == 0 and scanned or 1, 1))
    local first, final = low + 1, math.min(low + step, high - 1)
    if isLatest then
      first, final = math.max(high - step, low + 1), high - 1
    end
    local read = redis.call('LRANGE', log, first - base - 1, final - base - 1)
    for index = 1, #read do
      local entry = read[isLatest and #read + 1 - index or index]
      local isTombstone = string.byte(entry, string.find(entry, ':', 1, true) + 1) == 88
      if not isTombstone then
        if bytes + #entry > maxBytes then
          nextBytes, nextAt = #entry, tonumber(string.match(entry, '^%d+:%a?(%d+)')) or 0
          break
        end
        bytes = bytes + #entry
      end
      if isLatest then
        high = high - 1
      else
        low = low + 1
      end
      if not isTombstone then
        count = count + 1
        entries[count] = entry
        if count == limit then
          break
        end
      end
    end
    scanned = scanned + final - first + 1
  end
  if isLatest then
    for index = 1, count / 2 do
      entries[index], entries[count + 1 - index] = entries[count + 1 - index], entries[index]
    end
  end
end
