import type { TaskContext } from '@mortise/queues';
import { TaskHandler } from '@mortise/queues/nestjs';
import { Injectable } from '@nestjs/common';

@Injectable()
export class Mails {
  @TaskHandler('welcome')
  async welcome({ to }: { to: string }, { attempt }: Pick<TaskContext, 'attempt'>): Promise<string> {
    if (attempt === 1) throw new Error('the mail server is busy');
    return `mail to ${to}, attempt ${attempt}`;
  }
}
