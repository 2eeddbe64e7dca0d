import type { Trial } from './trial.ts'

type Message = NonNullable<Trial['answer']>

/** A trial as JSON: bodies are text where they are UTF-8, base64 otherwise. */
export function trialToJson({ rules, forwarded, answer }: Trial) {
  return {
    rules,
    forwarded: forwarded === undefined ? null : { ...forwarded, ...bodyToJson(forwarded) },
    answer: answer === undefined ? null : { ...answer, ...bodyToJson(answer) },
  }
}

function bodyToJson({ body, headers }: Pick<Message, 'body' | 'headers'>) {
  return {
    headers,
    ...(isText(body) ? { body: body.toString() } : { body: undefined, body_base64: body.toString('base64') }),
  }
}

/** Whether a body can be shown as text. */
export const isText = (body: Buffer) => !body.includes(0) && Buffer.from(body.toString()).equals(body)
