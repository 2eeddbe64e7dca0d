import type { CredentialsFile } from '../credentials-file.ts'

/** The addresses of a server, one line each. */
export function formatAddresses(credentials: Partial<CredentialsFile>): string[] {
  const { api_url, dashboard_url, http_url, https_url, public_agent_addr, public_ssh_addr } = credentials
  const isPublic = !dashboard_url?.startsWith(api_url ?? '')
  const addresses = {
    [isPublic ? 'API' : 'API and dashboard']: api_url,
    ...(isPublic && { Dashboard: dashboard_url }),
    'Public HTTP': http_url,
    'Public HTTPS': https_url,
    Agents: public_agent_addr,
    'SSH gateway': public_ssh_addr,
  }
  return Object.entries(addresses)
    .filter(([, address]) => address !== null && address !== undefined)
    .map(([name, address]) => `  ${name.padEnd(20)}${address}`)
}
