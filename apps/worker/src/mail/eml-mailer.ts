/**
 * Without an SMTP server, each mail becomes a file `<directory>/<task>.eml` with the bytes for SMTP. The file is written
 * under another name and renamed, so it is always whole; sending the same task again replaces it. A crash can leave a dot
 * file, which no reader of `*.eml` sees.
 */
import { randomUUID } from 'node:crypto';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

import { createTransport } from 'nodemailer';

import { compose, type Sender } from './compose.js';
import type { Mail, Mailer } from './mailer.js';
import { taskName } from './task-name.js';

export class EmlMailer implements Mailer {
  readonly #directory: string;
  readonly #sender: Sender;
  readonly #transport = createTransport({ streamTransport: true, buffer: true, newline: 'windows' });

  /** @param directory Created with the first mail, readable by this user only. */
  constructor(directory: string, sender: Sender) {
    this.#directory = directory;
    this.#sender = sender;
  }

  async send(mail: Mail, signal: AbortSignal): Promise<void> {
    const { message } = await this.#transport.sendMail(compose(mail, this.#sender));
    signal.throwIfAborted();
    const name = taskName(mail.taskId);
    const draft = join(this.#directory, `.${name}.${randomUUID()}`);
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    try {
      const file = await open(draft, 'wx', 0o600);
      try {
        await file.writeFile(message as Buffer);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(draft, join(this.#directory, `${name}.eml`));
    } catch (error) {
      await rm(draft, { force: true });
      throw error;
    }
  }

  close(): void {
    this.#transport.close();
  }
}
