import { readFile } from 'node:fs/promises'
import { parseEnv } from 'node:util'
import { CommandFailure } from '../../../base/process/command-line.ts'
import { errorMessage } from '../../../base/text/error-message.ts'
import { cloudflare } from './cloudflare.ts'
import { digitalocean } from './digitalocean.ts'
import { hetzner } from './hetzner.ts'
import type { DnsProvider, ProviderContext, ProviderDefinition } from './provider.ts'
import { rfc2136 } from './rfc2136.ts'
import { route53 } from './route53.ts'

/** All DNS providers, by the name in `--dns-provider`. */
const providers = { cloudflare, digitalocean, hetzner, rfc2136, route53 } satisfies Record<
  string,
  ProviderDefinition
>

export type DnsProviderName = keyof typeof providers

/** Which provider to use, and where its credentials are. They are never stored. */
export interface DnsProviderSettings {
  readonly name: DnsProviderName
  /** A file of `NAME=value` lines; its values win over the environment. */
  readonly credentialsFile: string | undefined
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** A configured provider. */
export interface ConfiguredProvider {
  /** The provider's name for people. */
  readonly title: string
  /** Opens the provider with the credentials of this moment, so that replaced ones are used without a restart. */
  open(context: ProviderContext): Promise<DnsProvider>
}

/** Reads the credentials once, to report at the start what is missing or cannot be used. */
export async function configureProvider(
  settings: DnsProviderSettings,
  context: ProviderContext,
): Promise<ConfiguredProvider> {
  const { title, variables, open }: ProviderDefinition = providers[settings.name]
  const provider: ConfiguredProvider = {
    title,
    open: async (current) => {
      const values = await readVariables(settings, variables)
      try {
        return open(values, current)
      } catch (error) {
        throw new CommandFailure(errorMessage(error))
      }
    },
  }
  await provider.open(context)
  return provider
}

async function readVariables(
  { name, credentialsFile, environment }: DnsProviderSettings,
  variables: ProviderDefinition['variables'],
): Promise<Record<string, string | undefined>> {
  const source = { ...environment, ...(credentialsFile && (await readCredentials(credentialsFile))) }
  const values: Record<string, string | undefined> = {}
  for (const [key, { names, fallback, optional }] of Object.entries(variables)) {
    const found = names.map((each) => source[each]?.trim()).find((value) => value) ?? fallback
    if (found === undefined && optional !== true)
      throw new CommandFailure(
        `--dns-provider ${name} needs ${names[0]}: set it in the environment, or in the file that --dns-credentials names.`,
      )
    values[key] = found
  }
  return values
}

async function readCredentials(file: string): Promise<Record<string, string | undefined>> {
  try {
    return parseEnv(await readFile(file, 'utf8'))
  } catch (error) {
    throw new CommandFailure(`--dns-credentials: ${file} cannot be read: ${errorMessage(error)}`)
  }
}
