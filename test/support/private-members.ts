import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..', '..')

/** The value at a path of members, such as `_kex.negotiated`; undefined where one of them is missing. */
export function readMember(object: unknown, path: string): unknown {
  return path
    .split('.')
    .reduce((value, name) => (value as Record<string, unknown> | undefined)?.[name], object)
}

/**
 * Returns an assertion about what a dependency does not promise. A failure names the dependency with its pinned version,
 * the member, and the adapter that has to change with it.
 */
export function assertPrivateMembers(
  dependency: string,
  adapter: string,
): (member: string, isAsExpected: boolean) => void {
  const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const advice = `is not what ${adapter} relies on; adapt it to the version that package.json pins`
  return (member, isAsExpected) =>
    assert.ok(isAsExpected, `${dependency} ${devDependencies[dependency]}: ${member} ${advice}`)
}
