-- The only place where a script reads the time: the server's, as seconds and µs. It is the same one during a script.
local time = redis.call('TIME')
