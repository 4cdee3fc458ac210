import { TaskHandler } from '@mortise/queues/nestjs';

export class Mails {
  @TaskHandler('welcome')
  async welcome({ to }: { to: string }, { attempt }: { attempt: number }): Promise<string> {
    if (attempt === 1) throw new Error('the mail server is busy');
    return `mail to ${to}, attempt ${attempt}`;
  }
}
