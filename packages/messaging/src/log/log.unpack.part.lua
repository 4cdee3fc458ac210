-- Unpacks messages, and leaves out those of refused senders, unless they were stored before.
-- Expects:
--   packed, count      messages as src/log/packed-messages.ts packs them
--   head, ids, oldIds  the head, whose second value is missing without a log; keys
--   senders, refused   arrays; a sender is refused with a value other than nil
-- Results:
--   count              number of messages that are left
--   messageKeys, authors, bodies, places, whose   for each of these; its place in `packed`, and that of its sender in `senders`
--   refusals           by place: -id of a message that was stored before, or the value of its sender
local parts = { struct.unpack('>' .. string.rep('HHc0Ic0', count), packed) }
local kept = 0
messageKeys, authors, bodies, places, whose, refusals = {}, {}, {}, {}, {}, {}
for i = 1, count do
  local sender, messageKey = parts[3 * i - 2], parts[3 * i - 1]
  if refused[sender] == nil then
    kept = kept + 1
    places[kept], whose[kept], authors[kept] = i, sender, senders[sender]
    messageKeys[kept], bodies[kept] = messageKey, parts[3 * i]
  else
    local id = head[2] and (redis.call('HGET', ids, messageKey) or redis.call('HGET', oldIds, messageKey))
    refusals[i] = id and 0 - id or refused[sender]
  end
end
if kept == 0 then
  return refusals
end
count = kept
