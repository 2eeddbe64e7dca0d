import { type Capture, getCapture } from './api.ts'
import { type Message, readMessages } from './message.ts'

/** One exchange with both of its messages taken apart. */
export interface Exchange {
  capture: Capture
  request: Message
  response: Message | undefined
}

/** Loads an exchange with its bytes. */
export async function loadExchange(id: string): Promise<Exchange> {
  const capture = await getCapture(id)
  return { capture, ...(await readMessages(capture)) }
}
