import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { BundledPackage } from './bundle.ts'

/** The packages inside a bundle, one on each line as `adit credits` prints them, then the text of each licence once. */
export function formatLicences(packages: readonly BundledPackage[]): string {
  const names = new Map<string, string[]>()
  const lines = packages.map(({ name, version, directory }) => {
    const { license } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as {
      license?: string
    }
    const text = licenceText(directory)
    if (text !== undefined) names.set(text, [...(names.get(text) ?? []), name])
    return `  ${name.padEnd(36)} ${version.padEnd(12)} ${license ?? 'see its text below'}\n`
  })
  const texts = [...names].map(
    ([text, users]) => `${'='.repeat(80)}\n${[...new Set(users)].join(', ')}\n\n${text}\n\n`,
  )
  return `${lines.join('')}\n${texts.join('')}`
}

function licenceText(directory: string): string | undefined {
  const file = readdirSync(directory).find((name) => /^(licen[cs]e|copying)/i.test(name))
  return file === undefined ? undefined : readFileSync(join(directory, file), 'utf8').trim()
}
