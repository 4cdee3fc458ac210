-- Records events, and publishes those of one call as one entry of the stream and one message.
-- Expects: events, keepEvents, publish, and task.record.part.lua.
--
-- Events are numbered without a gap. An entry's id is `<number of its last event>-<first number of the stream>`, so a
-- reader knows how many events it has missed. The first number is the time in µs, so a new stream repeats no number, and a
-- reader notices a new stream (0: a stream of an older version). An entry: f64 instant (ms), then for each event: kind, u16
-- length · id, u16 attempt, u16 length · text.
local newEvents, eventCount = {}, 0

-- Kinds, and the detail of each. The text is cut after 512 bytes.
--   E enqueued: the record (text: the name)        P progress: JSON (text, if it isn't longer)
--   A started, S succeeded, R retrying, H retrying and holding its group, D dead, C cancelled, W waiting for children:
--     the value in attempts (text: the reason; results are left out)
--   N delivered: the name of the event (text)
--   B an event of the BullMQ layer (text: JSON, up to 65,535 bytes)
--   Y made due by an operator, T rescheduled, K moved to another priority, V its payload was replaced, X removed, Z paused, U
--     resumed, and later kinds: '' or the text. An event of the queue has the id ''.
local function recordEvent(kind, id, detail)
  if keepEvents == 0 then
    return
  end
  local MOST_TEXT = 512
  local attempt, text = 0, detail
  if kind == 'E' then
    text = nameOf(detail)
  elseif kind == 'A' then
    attempt, text = struct.unpack('>H', detail, 6), ''
  elseif kind == 'S' or kind == 'R' or kind == 'H' or kind == 'D' or kind == 'C' or kind == 'W' then
    attempt = struct.unpack('>H', detail, 10)
    text = (kind == 'S' or kind == 'W') and '' or string.sub(detail, 12)
  elseif kind == 'P' and #detail > MOST_TEXT then
    text = ''
  end
  if kind ~= 'B' then
    text = string.sub(text, 1, MOST_TEXT)
  end
  eventCount = eventCount + 1
  newEvents[eventCount] = kind .. struct.pack('>H', #id) .. id .. struct.pack('>HH', attempt, #text) .. text
end

-- Call once, at the end of the script.
local function publishEvents()
  if eventCount == 0 then
    return
  end
  -- include server.time.part.lua
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
