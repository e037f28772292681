//! Names of channels.

/// A channel as people read it.
pub fn channel_label(channel: &str) -> &str {
    match channel {
        "email" => "Email",
        "sms" => "SMS",
        "viber" => "Viber",
        "push" => "Push",
        "webhook" => "Webhook",
        "whatsapp" => "WhatsApp",
        "in_app" => "In-app",
        "ai_optimized" => "Chosen by learning",
        other => other,
    }
}
