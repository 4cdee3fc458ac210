-- Expects: changes, heard, publish, announces. One numbered message for what a script has changed: a near tier that
-- misses a number drops what it has. Lines are names of keys, which have no line ends.
local function announce(names)
  if announces == '1' and #names > 0 then
    local number = redis.call('INCR', changes)
    redis.call('PEXPIRE', changes, 86400000)
    redis.call(publish, heard, '*:' .. number .. '\n' .. table.concat(names, '\n'))
  end
end
