export async function welcome({ to }, { attempt }) {
  if (attempt === 1) throw new Error('the mail server is busy');
  console.log(`mail to ${to}, attempt ${attempt}`);
}
