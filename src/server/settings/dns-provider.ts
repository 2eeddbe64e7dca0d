import type { Outbound } from '../../base/outbound/outbound.ts'
import { type ConfiguredProvider, configureProvider } from '../../certs/index.ts'
import type { ServerSettings } from './settings.ts'

/** The operator's DNS provider. Its credentials are read once here, so that a missing one is reported at the start. */
export async function configureDnsProvider(
  settings: Pick<ServerSettings, 'dnsProvider' | 'dnsCredentials'>,
  outbound: Outbound,
): Promise<ConfiguredProvider | undefined> {
  const { dnsProvider: name, dnsCredentials: credentialsFile } = settings
  if (name === undefined) return undefined
  const context = { outbound, signal: new AbortController().signal }
  return configureProvider({ name, credentialsFile, environment: process.env }, context)
}
