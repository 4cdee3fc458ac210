-- The steps of tasks. The hash has for each task that has some: h and id -> u16 steps, u32 bytes; c and id -> the cursor; w and
-- id -> its wait for an event: f64 until, name of the step; e and id -> the events that it has not taken, the oldest first, each
-- u16 length · event, u16 length · id of the delivery, u32 length · payload; d and id -> ids of deliveries that it has taken, each
-- u16 length · id; s, u16 number from 1, and id -> f64 instant, u16 length · name, result. A field for each step, so that a step
-- costs the same however many came before it.

-- Expects: steps.
local function stepField(number, id)
  return 's' .. struct.pack('>H', number) .. id
end

-- Deletes them. Ids without steps are skipped.
local function deleteSteps(ids)
  local heads = {}
  for i, id in ipairs(ids) do
    heads[i] = 'h' .. id
  end
  for i, head in ipairs(redis.call('HMGET', steps, unpack(heads))) do
    if head then
      local id, fields = ids[i], { heads[i], 'c' .. ids[i], 'w' .. ids[i], 'e' .. ids[i], 'd' .. ids[i] }
      for number = 1, struct.unpack('>H', head) do
        fields[#fields + 1] = stepField(number, id)
      end
      redis.call('HDEL', steps, unpack(fields))
    end
  end
end
