-- Takes ready tasks, those of earlier priorities first: where nothing is delayed and no more than the core is used.
-- Expects: everything of the prologue of worker.exchange.lua, and the parts before it. What a task is taken with is said in
-- worker.take.part.lua.
local priority, headBefore, mark, isOnly = 1, nil, nil, false
while taken < want and bytes < MOST_BYTES and priority <= 3 * priorityCount do
  local ready, ids = priorityKeys[priority], nil
  priority = priority + 3
  if want == 1 then
    ids = { redis.call('LPOP', ready) or nil }
  else
    ids = redis.call('LPOP', ready, want - taken) or {}
  end
  -- In pieces that double, so that big records end it early.
  local from, most = 1, #ids
  while from <= most and bytes < MOST_BYTES do
    local upTo = math.min(most, math.max(8, 2 * from))
    local records = redis.call('HMGET', tasks, unpack(ids, from, upTo))
    for i = from, upTo do
      local id, record = ids[i], records[i - from + 1]
      -- An id without a record is dropped: somebody has deleted it.
      if record then
        local head = string.sub(record, 1, 3)
        if head ~= headBefore then
          headBefore, mark = head, struct.pack('>c1IH', 'A', token, 1) .. head
          isOnly = string.sub(head, 2) == '\0\1'
        end
        if isOnly and taken >= slots then
          -- Nobody may die of having waited for a slot: the reply ends here, and there is more to take.
          bytes, upTo = MOST_BYTES, i - 1
          break
        end
        local change, lease, at = #changed, 2 * taken, #reply
        changed[change + 1], changed[change + 2] = id, mark
        leases[lease + 1], leases[lease + 2] = leaseUntil, id
        reply[at + 1], reply[at + 2], reply[at + 3] = id, 1, record
        taken = taken + 1
        bytes = bytes + #record
      end
    end
    from = upTo + 1
  end
  for i = most, from, -1 do
    redis.call('LPUSH', ready, ids[i])
  end
end
