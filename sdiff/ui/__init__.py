"""The page: player, controls, numbers and the line of visitors. The only package that imports gradio."""
