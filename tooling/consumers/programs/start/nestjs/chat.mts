import type { Chats } from '@mortise/messaging';
import { InjectChats, MessagingModule } from '@mortise/messaging/nestjs';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';

const url = process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379';

@Injectable()
class Lunch {
  constructor(@InjectChats() private readonly chats: Chats<string>) {}

  async ask(sender: string, member: string): Promise<string[]> {
    await this.chats.create({ sender, members: [member], body: 'Lunch?' });
    const unread = await this.chats.pull(member);
    await this.chats.ackAll(member, unread);
    return unread.flatMap(({ messages }) => messages.map(({ from, body }) => `${from}: ${body}`));
  }
}

@Module({ imports: [MessagingModule.forRoot({ url })], providers: [Lunch] })
class AppModule {}

const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error'] });
console.log(await app.get(Lunch).ask('jill', 'jack'));
await app.close();

// Output:
// [ 'jill: Lunch?' ]
