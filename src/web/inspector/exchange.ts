import { type Capture, getCapture } from './api.ts'
import { type Message, readMessage } from './message.ts'

/** One exchange with both of its messages taken apart. */
export interface Exchange {
  capture: Capture
  request: Message
  response: Message | undefined
}

/** Loads an exchange with its bytes. */
export async function loadExchange(id: string): Promise<Exchange> {
  const capture = await getCapture(id)
  const request = await readMessage(capture.request)
  const response = capture.response ? await readMessage(capture.response) : undefined
  return { capture, request, response }
}
