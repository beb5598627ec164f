"""Networks and training scripts written as a user would write them. Error messages and graphs count their lines as
the user's.
"""
