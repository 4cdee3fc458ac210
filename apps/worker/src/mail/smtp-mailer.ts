import { createTransport, type NodemailerError } from 'nodemailer';

import { compose, type Sender } from './compose.js';
import { type Mail, type Mailer, MailRefusedError, MailUnsentError } from './mailer.js';

const CONNECT_TIMEOUT_MS = 5_000;
const SILENCE_TIMEOUT_MS = 15_000;
/** A server that sends its replies byte by byte is never silent; this limit ends the attempt. */
const SEND_TIMEOUT_MS = 60_000;
/** Servers close idle connections after five minutes (RFC 5321, 4.5.3.2.7); ours are gone long before. */
const IDLE_TIMEOUT_MS = 30_000;

/** Sends by a pool of connections to one SMTP server. */
export class SmtpMailer implements Mailer {
  readonly #transport;
  readonly #sender: Sender;

  /**
   * @param url `smtp://` (with STARTTLS when the server offers it) or `smtps://`, with user and password if needed.
   * @param sender The sender of the mails.
   * @param maxConnections Connections to the server at once.
   */
  constructor(url: string, sender: Sender, maxConnections = 5) {
    this.#sender = sender;
    this.#transport = createTransport({
      url,
      pool: true,
      maxConnections,
      // A lost connection is an attempt of the task; a second round of attempts in here would hide duplicates.
      maxRequeues: 0,
      idleTimeout: IDLE_TIMEOUT_MS,
      dnsTimeout: CONNECT_TIMEOUT_MS,
      connectionTimeout: CONNECT_TIMEOUT_MS,
      greetingTimeout: CONNECT_TIMEOUT_MS,
      socketTimeout: SILENCE_TIMEOUT_MS,
      socketCloseTimeout: 1_000,
      disableFileAccess: true,
      disableUrlAccess: true,
    });
  }

  async send(mail: Mail, signal: AbortSignal): Promise<void> {
    const deadline = AbortSignal.timeout(SEND_TIMEOUT_MS);
    try {
      await this.#transport.sendMail({
        ...compose(mail, this.#sender),
        signal: AbortSignal.any([signal, deadline]),
      });
    } catch (error) {
      signal.throwIfAborted();
      if (deadline.aborted) throw new MailUnsentError(`not sent within ${SEND_TIMEOUT_MS} ms`);
      throw translate(error as NodemailerError);
    }
  }

  close(): void {
    this.#transport.close({ force: true });
  }
}

/**
 * A permanent refusal of RCPT TO or DATA concerns this recipient or this mail. Every other 5xx (the greeting, AUTH, MAIL
 * FROM) concerns our settings and all mails: these wait until the settings are mended. Replies often repeat the address, so
 * the error has their numbers only.
 */
function translate(error: NodemailerError): MailRefusedError | MailUnsentError {
  const { code = 'unknown error', command = 'connecting', responseCode, response = '' } = error;
  if (responseCode === undefined) {
    // Errors of the socket name host and port, never a recipient.
    const detail = error.syscall === undefined ? '' : ` (${error.message})`;
    return new MailUnsentError(`no answer of the mail server: ${code}${detail}`);
  }
  const [, enhanced] = /^\d{3}[ -](\d\.\d{1,3}\.\d{1,3})\b/.exec(response) ?? [];
  const reply = `${responseCode}${enhanced ? ` ${enhanced}` : ''} to ${command}`;
  if (error.permanent && (command === 'RCPT TO' || command === 'DATA')) {
    return new MailRefusedError(`the mail server refused the mail: ${reply}`);
  }
  return new MailUnsentError(`the mail server answered ${reply}`);
}
