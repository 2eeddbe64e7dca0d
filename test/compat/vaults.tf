# Versions 0.5 to 0.7 of the provider have these beside older-provider.tf.
resource "ngrok_vault" "shared" {
  name        = "shared"
  description = var.description
}

resource "ngrok_secret" "token" {
  vault_id    = ngrok_vault.shared.id
  name        = "token"
  value       = "change me"
  description = var.description
}
