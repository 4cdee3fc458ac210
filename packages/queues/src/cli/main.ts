#!/usr/bin/env node
/** The program `mortise-queues`. */
import { run } from './run.js';

// A reader such as `head` closes the pipe when it has seen enough.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});

process.exitCode = await run(process.argv.slice(2), {
  env: process.env,
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
});
