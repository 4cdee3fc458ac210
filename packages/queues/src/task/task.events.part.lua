-- Tells those who read events what has happened. Expects events, keepEvents, publish. All of one call become one entry of the
-- stream, and one message. Events are numbered without a gap: an entry's id is the number of the last event in it, so a
-- reader knows what it has missed, and the first number of a stream is its time in µs, so that no number comes twice when
-- a stream is begun anew. Behind the `-` of each id stands that first number, which costs nothing, since it is the same in all of
-- them: who has seen less has seen another stream (0: it was begun by an older version). An entry: f64 instant (ms), then for each event: kind, u16 length · id, u16 attempt,
-- u16 length · text.
local newEvents, eventCount = {}, 0

-- Kinds, and what detail is for each; the text is cut after 512 bytes.
--   E enqueued: the record (text: the name)        P progress: JSON (text, if it isn't longer)
--   A started, S succeeded, R retrying, H retrying and holding its group, D dead, C cancelled, W waiting for children:
--     the value in attempts (text: the reason; results are not told)
--   Y ready again (by hand), X removed, Z paused, U resumed, and whatever comes: '' or the text. What
--     concerns the queue and no task has the id ''.
local function recordEvent(kind, id, detail)
  if keepEvents == 0 then
    return
  end
  local MOST_TEXT = 512
  local attempt, text = 0, detail
  if kind == 'E' then
    local flags, at = string.byte(detail), 12
    if math.floor(flags / 16) % 2 == 1 then
      at = 14 + struct.unpack('>H', detail, 12)
    end
    if flags >= 128 then
      -- For how long the id is refused.
      at = at + 8
    end
    text = string.sub(detail, at + 2, at + 1 + struct.unpack('>H', detail, at))
  elseif kind == 'A' then
    attempt, text = struct.unpack('>H', detail, 6), ''
  elseif kind == 'S' or kind == 'R' or kind == 'H' or kind == 'D' or kind == 'C' or kind == 'W' then
    attempt = struct.unpack('>H', detail, 10)
    text = (kind == 'S' or kind == 'W') and '' or string.sub(detail, 12)
  elseif kind == 'P' and #detail > MOST_TEXT then
    text = ''
  end
  text = string.sub(text, 1, MOST_TEXT)
  eventCount = eventCount + 1
  newEvents[eventCount] = kind .. struct.pack('>H', #id) .. id .. struct.pack('>HH', attempt, #text) .. text
end

-- Once, at the end of the script.
local function publishEvents()
  if eventCount == 0 then
    return
  end
  local time = redis.call('TIME')
  local newest = redis.call('XREVRANGE', events, '+', '-', 'COUNT', 1)[1]
  local before, begun
  if newest then
    before, begun = string.match(newest[1], '^(%d+)-(%d+)')
  else
    begun = string.format('%.0f', time[1] * 1000000 + time[2])
    before = begun
  end
  local last = string.format('%.0f', before + eventCount)
  local instant = struct.pack('>d', time[1] * 1000 + math.floor(time[2] / 1000))
  local oldest = string.format('%.0f', math.max(0, before + eventCount - keepEvents + 1))
  redis.call('XADD', events, 'MINID', '~', oldest, last .. '-' .. begun, 'e', instant .. table.concat(newEvents))
  redis.call(publish, events, '*:' .. last)
end
