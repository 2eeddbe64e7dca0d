import { TOPICS, type TopicAnswer, type TopicName, type TopicValue } from './topics.ts'

/** Brings a message to its receivers. */
interface Carrier {
  tell<T extends TopicName>(topic: T, value: TopicValue<T>): void
  ask?<T extends TopicName>(topic: T, value: TopicValue<T>): Promise<unknown>
}

/** Receives the values of a topic with the number of the worker that sends them, 0 for other processes; answers questions. */
type Listener<T extends TopicName> = (value: TopicValue<T>, sender: number) => TopicAnswer<T> | undefined

/** What this process tells and asks others, and what it hears from them: the topics of `topics.ts`. */
export class Bus {
  readonly #carriers = new Map<string, Carrier>()
  readonly #listeners = new Map<string, Listener<never>>()

  /** Has messages to these receivers brought there; until then there are none. */
  connect(receivers: readonly (typeof TOPICS)[TopicName]['to'][], carrier: Carrier): void {
    for (const to of receivers) this.#carriers.set(to, carrier)
  }

  publish<T extends TopicName>(topic: T, value: TopicValue<T>): void {
    this.#carriers.get(TOPICS[topic].to)?.tell(topic, value)
  }

  /** Rejects when there is no answer. */
  async ask<T extends TopicName>(topic: T, value: TopicValue<T>): Promise<TopicAnswer<T>> {
    const answer = this.#carriers.get(TOPICS[topic].to)?.ask?.(topic, value)
    if (answer === undefined) throw new Error(`Nobody answers ${topic}.`)
    return (await answer) as TopicAnswer<T>
  }

  subscribe<T extends TopicName>(topic: T, listener: Listener<T>): void {
    this.#listeners.set(topic, listener)
  }

  /** A message has arrived; returns the answer if it is a question. */
  receive<T extends TopicName>(topic: T, value: TopicValue<T>, sender = 0): TopicAnswer<T> | undefined {
    return (this.#listeners.get(topic) as Listener<T> | undefined)?.(value, sender)
  }
}
