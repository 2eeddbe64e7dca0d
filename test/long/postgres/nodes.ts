import type { ApiClient } from '../../support/api.ts'
import { eventually } from '../../support/eventually.ts'
import type { ServerProcess } from '../../support/server-process.ts'

/** Waits until each node says that it can do everything. */
export async function allWell(nodes: readonly ServerProcess[]): Promise<void> {
  for (const { url } of nodes) {
    let answer = ''
    await eventually(
      async () => {
        const response = await fetch(`${url}/readyz?strict`)
        answer = await response.text()
        return response.status === 200
      },
      () => `all is well, was ${answer}`,
    )
  }
}

/** The value of a metric at a node. */
export async function readMetric(call: ApiClient, name: string): Promise<number> {
  const { body } = await call('GET', '/metrics')
  return Number(new RegExp(`^${name} (.*)$`, 'm').exec(body)?.[1])
}
